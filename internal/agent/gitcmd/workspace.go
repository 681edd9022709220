package gitcmd

import (
	"context"
	"os"
	"path/filepath"
)

// OfWorkspace returns a [Shadow] with the objects and settings of the workspace's own repository, over a copy of its index at
// path. Its trees are those that git add makes, so that they can be committed. They keep submodules as they were.
func OfWorkspace(ctx context.Context, work, path string) (*Shadow, error) {
	s := &Shadow{Git: Repository(work), Own: true, work: work, caps: Caps{}.WithDefaults()}
	from, err := s.Run(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return nil, err
	}
	s.Index, s.WorkTree, s.committed, s.Pipes = path, work, true, &Pipes{top: work}
	_ = os.Remove(path) // of an earlier call
	s.seed(from)
	return s, nil
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
