package checkpoints

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
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
	if refs != "" {
		files[refsName] = []byte(refs)
	}
	t.operation(ctx, own, c, &s, files)
	key := ""
	if len(files) == 1 {
		key = string(files[refsName])
	}
	tree, err := t.kept.state.of(key, func() (string, error) { return t.stateTree(ctx, files) })
	if err != nil {
		c.leaveOut("branches and the state of Git: " + err.Error())
	}
	s.tree = tree
	return s, nil
}

// leaveOut records what the checkpoint lacks.
func (c *taken) leaveOut(what string) {
	const most = 20
	if len(c.said.LeftOut) < most {
		c.said.LeftOut = append(c.said.LeftOut, "The checkpoint lacks "+what)
	}
}

// refs returns branches and stash that are commits, and adds those that the API lacks to the parents.
func (t *taker) refs(ctx context.Context, own gitcmd.Git, c *taken, s *gitState) (string, error) {
	all, err := own.Run(ctx, "for-each-ref", "--count="+strconv.Itoa(maxRefs), "--format=%(objectname) %(refname)", "refs/heads", "refs/stash")
	if err != nil || all == "" {
		return "", nil //nolint:nilerr // the files are worth more than the branches
	}
	if ref := c.said.HeadRef; ref != "" && !strings.Contains(all+"\n", " "+ref+"\n") {
		all = c.said.Head + " " + ref + "\n" + all // not among the first maxRefs
	}
	known := slices.Concat(t.known, s.parents)
	both, err := t.kept.refs.of(strings.Join(append(known, all), "\n"), func() (string, error) { return commitsOf(ctx, own, all, known) })
	if err != nil {
		return "", nil //nolint:nilerr // as above
	}
	refs, loose, _ := strings.Cut(both, "\x00")
	for line := range strings.SplitSeq(all, "\n") {
		if !strings.Contains(refs, line+"\n") {
			c.leaveOut(line[strings.IndexByte(line, ' ')+1:] + ", which is no commit")
		}
	}
	s.parents = append(s.parents, strings.Fields(loose)...)
	return refs, nil
}

// commitsOf returns the lines of refs that are commits, a zero byte, and the IDs of those that are not in the history of known. A
// restore fails at a ref whose commit it lacks.
func commitsOf(ctx context.Context, own gitcmd.Git, all string, known []string) (string, error) {
	var kinds bytes.Buffer
	if err := own.Stream(ctx, strings.NewReader(all), &kinds, "cat-file", "--batch-check=%(objecttype) %(objectname) %(rest)"); err != nil {
		return "", err
	}
	args := []string{"for-each-ref", "--format=%(objectname)"}
	for _, id := range known {
		args = append(args, "--no-merged="+id)
	}
	loose, err := own.Run(ctx, append(args, "refs/heads", "refs/stash")...) // git before 2.31 takes --no-merged once
	var refs, ids strings.Builder
	for line := range strings.Lines(kinds.String()) {
		ref, ok := strings.CutPrefix(line, "commit ")
		if id, _, _ := strings.Cut(ref, " "); ok && (err != nil || strings.Contains(loose, id)) {
			ids.WriteString(id + "\n")
		}
		if ok {
			refs.WriteString(ref)
		}
	}
	return refs.String() + "\x00" + ids.String(), nil
}

// refsOfUser returns the branches and the stash of the checkpoint that a user took, with the task's branch at the head, and adds
// their commits to the parents. Others of the user's repository are not the task's.
func (t *taker) refsOfUser(ctx context.Context, _ gitcmd.Git, _ *taken, s *gitState) (string, error) {
	before, err := t.shadow.Run(ctx, "ls-tree", "--full-tree", "--name-only", t.base, entryState+"/"+refsName)
	if err == nil && before != "" {
		before, err = t.shadow.Run(ctx, "cat-file", "blob", t.base+":"+entryState+"/"+refsName)
	}
	if err != nil {
		return "", err
	}
	own := " refs/heads/" + t.branch
	lines := slices.DeleteFunc(strings.Split(before, "\n"), func(line string) bool { return line == "" || strings.HasSuffix(line, own) })
	for _, head := range s.parents {
		lines = append(lines, head+own)
	}
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(a[strings.IndexByte(a, ' ')+1:], b[strings.IndexByte(b, ' ')+1:])
	})
	all, err := t.shadow.Run(ctx, "rev-parse", t.base+"^@")
	parents := strings.Fields(all)
	s.parents = append(s.parents, parents[min(1, len(parents)):]...) // the first one is the head
	return strings.Join(append(lines, ""), "\n"), err
}

// operation reads the files of an unfinished merge, rebase or similar.
func (t *taker) operation(ctx context.Context, own gitcmd.Git, c *taken, s *gitState, files map[string][]byte) {
	if c.at.folder == "" || !gitcmd.Unfinished(c.at.folder) {
		return
	}
	c.said.GitState = true
	if err := readState(c.at.folder, files); err != nil {
		c.leaveOut("parts of an unfinished Git operation: " + err.Error())
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD"} {
		for id := range strings.FieldsSeq(string(files[path.Join(gitName, name)])) {
			if own.Commit(ctx, id) == id {
				s.parents = append(s.parents, id)
			}
		}
	}
	var stages bytes.Buffer
	if err := own.Stream(ctx, nil, &stages, "ls-files", "--stage", "-z"); err != nil {
		c.leaveOut("the Git index: " + err.Error())
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
	git := t.shadow.Git
	git.Index = filepath.Join(git.GitDir, "index.state")
	_ = os.Remove(git.Index)
	var info bytes.Buffer
	for name, content := range files {
		var id bytes.Buffer
		if err := git.Stream(ctx, bytes.NewReader(content), &id, "hash-object", "-w", "--stdin"); err != nil {
			return "", err
		}
		fmt.Fprintf(&info, "100644 %s\t%s\x00", strings.TrimSpace(id.String()), name)
	}
	for entry := range bytes.SplitSeq(files[stagesName], []byte{0}) {
		if mode, id, ok := staged(string(entry)); ok {
			fmt.Fprintf(&info, "%s %s\t%s/%s\x00", mode, id, stagedName, id)
		}
	}
	if err := git.Stream(ctx, &info, nil, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return git.Run(ctx, "write-tree", "--missing-ok")
}

// staged reads "<mode> <id> <stage>\t<path>" of a file or link.
func staged(entry string) (mode, id string, ok bool) {
	fields := strings.Fields(strings.SplitN(entry, "\t", 2)[0])
	if len(fields) != 3 || fields[0] == "160000" {
		return "", "", false
	}
	return "100644", fields[1], true
}
