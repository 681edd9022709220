// Package localgit hosts git repositories that lie on this machine: bare ones, or the
// working copies that people work in. It changes refs and objects only; the files, the
// index and the checked-out branch of a working copy are never touched.
//
// What it remembers lies in the repository itself, so that it moves with it:
//
//	refs/omoi/tasks/<task id>/<branch>  the commit from which the task's branch began
//	refs/omoi/heads/<branch>            where omoi last saw the branch; it is made again from here
//	refs/omoi/rescue/<name>             uncommitted work of a sandbox that is gone
//	<git dir>/omoi/pulls/<n>.json       pull request records
//	<git dir>/omoi/lock                 serialises naming and numbering between processes
//
// Bundles come out of sandboxes and are hostile: they are opened in a throw-away repository,
// bounded in size, and only checked objects that the wanted ref reaches go further.
// Git runs without prompts, hooks and network, with no configuration but the repository's own, and, where
// omoi runs as root, as the owner of the repository.
package localgit
