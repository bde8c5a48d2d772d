// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CSmallWebTLS.h"

#include <dlfcn.h>
#include <stddef.h>

// In the release binary its symbols are looked up in its own libraries first, and not in the large
// program before them. It opens no connection: what a user preloads to redirect connections loses
// nothing, as it would with libcurl. Sanitizers cannot do it.
#ifdef SMALLWEB_OWNS_PROCESS
enum { scope = RTLD_LOCAL | RTLD_DEEPBIND };
#else
enum { scope = RTLD_LOCAL };
#endif

const char *swtls_load(struct swtls_functions *functions) {
    void *library = dlopen("libssl.so.3", RTLD_NOW | scope);
    if (library == NULL) return dlerror();
#define SWTLS_LOOK_UP(name)                                                                       \
    if ((functions->name = (__typeof__(&name))dlsym(library, #name)) == NULL) return dlerror();
    SWTLS_FUNCTIONS(SWTLS_LOOK_UP)
#undef SWTLS_LOOK_UP
    return NULL;
}
