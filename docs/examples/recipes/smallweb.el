;;; smallweb.el --- show pages of the small web -*- lexical-binding: t -*-
;; SPDX-License-Identifier: MIT

(defun smallweb (url)
  "Show the page of URL in a buffer of its own."
  (interactive "sURL: ")
  (let ((buffer (get-buffer-create (format "*smallweb %s*" url))))
    (with-current-buffer buffer
      (let ((inhibit-read-only t))
        (erase-buffer)
        (unless (eq 0 (call-process "smallweb" nil '(t nil) nil "get" "--render" "plain" "--" url))
          (insert "smallweb could not fetch it\n"))
        (goto-char (point-min)))
      (view-mode))
    (display-buffer buffer)))

(provide 'smallweb)
;;; smallweb.el ends here
