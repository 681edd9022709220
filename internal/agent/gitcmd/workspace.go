package gitcmd

import (
	"os"
	"path/filepath"
)

// OfWorkspace returns a [Shadow] with the objects and settings of the workspace's own repository, over a copy at path of its index, which
// is at from. Its trees are those that git add makes, so that they can be committed. They keep submodules as they were.
func OfWorkspace(work, from, path string) *Shadow {
	s := &Shadow{Git: Repository(work), Own: true, work: work, caps: Caps{}.WithDefaults()}
	s.Index, s.WorkTree, s.committed, s.Pipes = path, work, true, &Pipes{top: work}
	_ = os.Remove(path) // of an earlier call
	s.seed(from)
	return s
}

// Unfinished reports whether a merge, rebase or similar operation is in progress in the repository with this Git folder.
func Unfinished(folder string) bool {
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer"} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
}
