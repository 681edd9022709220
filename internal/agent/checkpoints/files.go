package checkpoints

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// Files restores the files of the workspace byte for byte, the Git index and an unfinished operation. Files that neither
// the head nor the checkpoint has stay, for example those of the setup step. Call Files after [Restorer.Commits] and the
// setup step.
func (r *Restorer) Files(ctx context.Context, dir, work string) error {
	shadow, err := openShadow(ctx, dir, work)
	if err == nil {
		err = r.tree(ctx, shadow)
	}
	if err != nil {
		return err
	}
	if shadow.Own {
		err = errors.Join(r.workspaceIndex(ctx, work), r.operation(ctx, work))
	}
	if err == nil {
		_ = os.RemoveAll(r.dir) // the packs take room
	}
	return err
}

// tree restores the files only.
func (r *Restorer) tree(ctx context.Context, shadow *gitcmd.Shadow) error {
	err := shadow.Begin(ctx, r.From.Head)
	if err == nil {
		_, err = shadow.Run(ctx, "read-tree", "--reset", "-u", r.From.Commit+":"+entryWork)
	}
	return err
}

// workspaceIndex restores the index of the workspace's repository.
func (r *Restorer) workspaceIndex(ctx context.Context, work string) error {
	own := gitcmd.Repository(work)
	var err error
	if r.From.Index {
		_, err = own.Run(ctx, "read-tree", r.From.Commit+":"+entryIndex)
	}
	if err == nil {
		_, _ = own.Run(ctx, "update-index", "-q", "--refresh") // its exit code reports changed files
	}
	return err
}

// operation restores the files of an unfinished operation, and the index with its unmerged entries.
func (r *Restorer) operation(ctx context.Context, work string) error {
	if !r.From.GitState {
		return nil
	}
	own := gitcmd.Repository(work)
	var stages, names bytes.Buffer
	err := own.Stream(ctx, nil, &stages, "cat-file", "blob", r.From.Commit+":"+entryState+"/"+stagesName)
	if err == nil {
		err = errors.Join(restage(ctx, own, &stages),
			own.Stream(ctx, nil, &names, "ls-tree", "-r", "-z", "--name-only", r.From.Commit+":"+entryState, gitName+"/"))
	}
	if err != nil {
		return fmt.Errorf("restore the Git index: %w", err)
	}
	folder, err := own.Run(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("open the Git folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	for name := range strings.SplitSeq(strings.TrimSuffix(names.String(), "\x00"), "\x00") {
		err = errors.Join(err, r.stateFile(ctx, own, root, strings.TrimPrefix(name, gitName+"/")))
	}
	return err
}

// restage fills an empty index with the entries that git ls-files --stage printed.
func restage(ctx context.Context, own gitcmd.Git, stages *bytes.Buffer) error {
	if _, err := own.Run(ctx, "read-tree", "--empty"); err != nil {
		return err
	}
	return own.Stream(ctx, stages, nil, "update-index", "-z", "--index-info")
}

// stateFile restores one of the state files, and no other file.
func (r *Restorer) stateFile(ctx context.Context, own gitcmd.Git, root *os.Root, name string) error {
	first, _, _ := strings.Cut(name, "/")
	if !slices.Contains(stateFiles(), first) || !filepath.IsLocal(name) {
		return nil
	}
	var content bytes.Buffer
	if err := own.Stream(ctx, nil, &content, "cat-file", "blob", r.From.Commit+":"+path.Join(entryState, gitName, name)); err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("create folder of %s: %w", name, err)
	}
	text := content.Bytes()
	if path.Base(name) == "head-name" && string(text) == headsRefs+r.Renamed+"\n" { // the branch to which a rebase returns
		text = []byte(headsRefs + r.branch + "\n")
	}
	if err := root.WriteFile(name, text, 0o644); err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	return nil
}
