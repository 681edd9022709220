package checkpoints

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/checkpoint"
)

// Files in the entry state of a checkpoint.
const (
	refsName   = "refs"   // lines "<commit> <ref>"
	stagesName = "stages" // the index with unmerged entries, as git ls-files --stage -z prints it
	stagedName = "staged" // folder of the objects that stages names
	gitName    = "git"    // folder of the state files
)

// Bounds of the state.
const (
	maxRefs       = 100
	maxStateFiles = 500
	maxStateFile  = 1 << 20
)

// stateFiles are the files and folders in a Git folder that hold an unfinished operation.
func stateFiles() []string {
	return []string{
		"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD", "AUTO_MERGE",
		"rebase-merge", "rebase-apply", "sequencer",
	}
}

// gitState is the Git state of a checkpoint.
type gitState struct {
	tree    string // entry state; empty if there is nothing to hold
	parents []string
}

// state reads head, branches and an unfinished operation.
func (t *taker) state(ctx context.Context, c *taken) (s gitState, err error) {
	if !t.shadow.Own {
		return s, nil
	}
	own := gitcmd.Repository(t.work)
	if c.said.Head != "" {
		s.parents = append(s.parents, c.said.Head)
	}
	files := map[string][]byte{}
	read := t.refs
	if t.branch != "" {
		read = t.refsOfUser
	}
	refs, err := read(ctx, own, c, &s)
	if err != nil {
		return s, err
	}
	if refs = t.without(refs, c, &s); refs != "" {
		files[refsName] = []byte(refs)
	}
	t.operation(ctx, own, c, &s, files)
	key := ""
	if len(files) == 1 {
		key = string(files[refsName])
	}
	s.tree, err = t.kept.state.of(key, func() (string, error) { return t.stateTree(ctx, files) })
	c.leaveOutError("branches and the state of Git", err)
	return s, nil
}

// leaveOut records what the checkpoint lacks, in front of the files that it lacks, since only [checkpoint.MaxLeftOut] sentences are kept.
func (c *taken) leaveOut(what string) {
	all := slices.Insert(slices.Clone(c.said.LeftOut), 0, "The checkpoint lacks "+what)
	c.said.LeftOut = all[:min(len(all), checkpoint.MaxLeftOut)]
}

// leaveOutError is leaveOut with the reason; without an error the checkpoint lacks nothing.
func (c *taken) leaveOutError(what string, err error) {
	if err != nil {
		c.leaveOut(what + ": " + err.Error())
	}
}

// operation reads the files of an unfinished merge, rebase or similar, and the index with its unmerged entries.
func (t *taker) operation(ctx context.Context, own gitcmd.Git, c *taken, s *gitState, files map[string][]byte) {
	if !c.said.GitState {
		return
	}
	c.leaveOutError("parts of an unfinished Git operation", readState(c.at.folder, files))
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD"} {
		for id := range strings.FieldsSeq(string(files[path.Join(gitName, name)])) {
			switch {
			case t.damaged[id]:
				c.leaveOut("the commit of " + name + damaged)
			case own.Commit(ctx, id) == id:
				s.parents = append(s.parents, id)
			}
		}
	}
	var stages bytes.Buffer
	if err := own.Stream(ctx, nil, &stages, "ls-files", "--stage", "-z"); err != nil {
		c.leaveOutError("the Git index", err)
		return
	}
	files[stagesName] = stages.Bytes()
}

// readState reads the state files, which are small and regular.
func readState(folder string, files map[string][]byte) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("open the Git folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range stateFiles() {
		err = errors.Join(err, fs.WalkDir(root.FS(), name, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil || !entry.Type().IsRegular():
				return err
			case len(files) >= maxStateFiles:
				return errors.New("more than " + strconv.Itoa(maxStateFiles) + " files")
			}
			content, err := fs.ReadFile(root.FS(), name)
			if err == nil && len(content) > maxStateFile {
				err = fmt.Errorf("%s is too large", name)
			}
			if err == nil {
				files[path.Join(gitName, name)] = content
			}
			return err
		}))
	}
	return err
}

// stateTree writes files, and the objects that the stages name, as a tree; empty for no files.
func (t *taker) stateTree(ctx context.Context, files map[string][]byte) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	if refs, found := files[refsName]; found && len(files) == 1 { // the usual case, without a git process
		return t.refsTree(ctx, string(refs))
	}
	var info bytes.Buffer
	for name, content := range files {
		id, err := t.tracker.Store(ctx, "blob", string(content))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&info, "100644 %s\t%s\x00", id, name)
	}
	for entry := range bytes.SplitSeq(files[stagesName], []byte{0}) {
		if mode, id, ok := staged(string(entry)); ok {
			fmt.Fprintf(&info, "%s %s\t%s/%s\x00", mode, id, stagedName, id)
		}
	}
	git := t.ownIndex("index.state")
	_ = os.Remove(git.Index)
	if err := git.Stream(ctx, &info, nil, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return git.Run(ctx, "write-tree", "--missing-ok")
}

// refsTree writes a tree that has the refs only.
func (t *taker) refsTree(ctx context.Context, refs string) (string, error) {
	blob, err := t.tracker.Store(ctx, "blob", refs)
	if err != nil {
		return "", err
	}
	id, err := hex.DecodeString(blob)
	if err != nil {
		return "", fmt.Errorf("object %s: %w", blob, err)
	}
	return t.tracker.Store(ctx, "tree", "100644 "+refsName+"\x00"+string(id))
}

// staged reads "<mode> <id> <stage>\t<path>" of a file or link.
func staged(entry string) (mode, id string, ok bool) {
	fields := strings.Fields(strings.SplitN(entry, "\t", 2)[0])
	if len(fields) != 3 || fields[0] == "160000" {
		return "", "", false
	}
	return "100644", fields[1], true
}
