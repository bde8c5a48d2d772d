" SPDX-License-Identifier: MIT
" What smallweb.vim makes of the pages of smallweb-loopback, whose places are in $GEMINI and $GOPHER.
" Writes the failures to $FAILURES.
set nocompatible modeline modelines=5

edit $GEMINI/
call assert_equal('# A small capsule', getline(1))
call assert_equal([0, 0, 1], [&modified, &modifiable, &readonly])
call assert_fails('write', 'E382')

call search('^\[3\] Two')
execute "normal \<CR>"
call assert_equal($GEMINI . '/redirect/2', bufname('%'))
call assert_equal('# About', getline(1))

edit $GEMINI/links/
call search('#part$', 'b')
let s:link = matchstr(getline('.'), 'gemini:.*')
execute "normal \<CR>"
call assert_equal(s:link, bufname('%'))

edit $GOPHER/
call search('\[1\] About')
execute "normal \<CR>"
call assert_equal([$GOPHER . '/0/about.txt', 'This hole is part of the tests of smallweb.'],
    \ [bufname('%'), getline(1)])
edit!
call assert_equal('This hole is part of the tests of smallweb.', getline(1))
edit $GEMINI/
call assert_equal('# A small capsule', getline(1))

" gf goes to the URL below the cursor.
call search('^\[1\] gemini://')
normal! 4l
normal! gf
call assert_equal([$GEMINI . '/about', '# About'], [bufname('%'), getline(1)])

" No modeline of a page is obeyed, and no shell reads its URL.
execute 'edit' fnameescape($GOPHER . '/7/search%09vim:%20set%20tabstop=13:')
call assert_match('vim: set tabstop=13:', join(getline(1, '$')))
call assert_equal(8, &tabstop)
execute 'edit' fnameescape($GEMINI . "/echo?$(echo>made)'$(echo>made)'")
call assert_equal('', glob('made'))
call assert_match('echo', join(getline(1, '$')))

edit $GEMINI/status/51
call assert_match('^smallweb: .*This is status 51', getline(1))

call writefile(v:errors, $FAILURES)
qall!
