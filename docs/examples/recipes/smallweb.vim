" SPDX-License-Identifier: MIT
" Shows pages of the small web in Vim 8.2 and later, and in Neovim: `:edit gemini://example.org/`.

augroup smallweb
    autocmd!
    autocmd BufReadCmd gemini://*,gopher://*,gophers://*,spartan://*,finger://*
        \ call s:Read(expand('<amatch>'))
augroup END

" Fills the buffer with the page, or with the message that says why there is none.
function! s:Read(url) abort
    " A page must not change options by a modeline.
    setlocal nomodeline modifiable noreadonly noswapfile buftype=nowrite
    " Without standard input: nothing may ask for it on Vim's screen.
    let l:lines = systemlist('smallweb get --render plain -- ' . shellescape(a:url) . ' </dev/null')
    silent %delete _
    call setline(1, l:lines)
    setlocal nomodifiable readonly nomodified
    nnoremap <buffer> <silent> <CR> :call <SID>Follow()<CR>
endfunction

" Opens the link whose number in brackets stands in this line. The URLs are at the end of the page.
function! s:Follow() abort
    let l:number = matchstr(getline('.'), '\[\d\+\]')
    let l:urls = filter(getline(1, '$'), {_, line -> !empty(l:number) && stridx(line, l:number . ' ') == 0})
    if empty(l:urls)
        echo 'smallweb: no link in this line'
    else
        execute 'edit' fnameescape(l:urls[-1][len(l:number) + 1 :])
    endif
endfunction
