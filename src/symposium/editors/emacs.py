"""Emacs with agent-shell: a Lisp file beside init.el, which init.el loads."""

from pathlib import Path

from symposium.config.editor_settings import Editor, EditorEnvironment, EditorLaunch, OwnFile


def _file(where: EditorEnvironment) -> Path:
    # Choose like Emacs: the old directory if in use, else the XDG directory if it exists.
    old, new = where.user / ".emacs.d", where.config / "emacs"
    is_old = old.is_dir() or (where.user / ".emacs").exists() or not new.is_dir()
    return (old if is_old else new) / "symposium.el"


def _text(launch: EditorLaunch) -> str:
    args = " ".join(lisp_string(word) for word in launch.args)
    env = " ".join(lisp_string(f"{name}={value}") for name, value in launch.env.items())
    variables = f"'({env})" if env else "nil"
    return f"""(with-eval-after-load 'agent-shell
  (require 'acp)
  (add-to-list
   'agent-shell-agent-configs
   (agent-shell-make-agent-config
    :identifier 'symposium
    :mode-line-name "Symposium"
    :buffer-name "Symposium"
    :shell-prompt "Symposium> "
    :shell-prompt-regexp "Symposium> "
    :client-maker
    (lambda (buffer)
      (acp-make-client
       :command {lisp_string(launch.command)}
       :command-params '({args})
       :environment-variables {variables}
       :context-buffer buffer)))
   t))
"""


def lisp_string(text: str) -> str:
    """An Emacs Lisp string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


EDITOR = Editor(
    title="Emacs",
    setting=OwnFile(_file, ";;", _text),
    needs="Emacs needs the package agent-shell.",
    then='Add (load (locate-user-emacs-file "symposium") t) to init.el, then M-x agent-shell.',
)
