package checkpoints

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// refs returns branches and stash that are commits, and adds those that the API lacks to the parents. Without them the checkpoint has
// the files at least.
func (t *taker) refs(ctx context.Context, own gitcmd.Git, c *taken, s *gitState) (string, error) {
	all, err := t.listed(ctx, own, c)
	known, both := slices.Concat(t.known, s.parents), ""
	if err == nil && all != "" {
		both, err = t.kept.refs.of(strings.Join(append(known, all), "\n"), func() (string, error) { return commitsOf(ctx, own, all, known) })
	}
	if err != nil || all == "" {
		c.leaveOutError("branches and the stash", err)
		return "", nil
	}
	refs, loose, _ := strings.Cut(both, "\x00")
	for line := range strings.SplitSeq(all, "\n") {
		if !strings.Contains(refs, line+"\n") {
			c.leaveOut(nameOf(line) + ", which is no commit")
		}
	}
	s.parents = append(s.parents, strings.Fields(loose)...)
	return refs, nil
}

// listed returns the lines of the branches and the stash. Of more than [maxRefs] branches these are the first ones by name, and that of
// the head.
func (t *taker) listed(ctx context.Context, own gitcmd.Git, c *taken) (string, error) {
	first, err := t.kept.listed.of(refsStamp(t.work), func() (string, error) {
		return own.Run(ctx, "for-each-ref", "--count="+strconv.Itoa(maxRefs), refLine, "refs/heads", stashRef)
	})
	if err != nil || first == "" {
		return "", err
	}
	all := first
	if ref := c.said.HeadRef; ref != "" && !strings.Contains(all+"\n", " "+ref+"\n") {
		all = c.said.Head + " " + ref + "\n" + all
	}
	if strings.Count(first, "\n") == maxRefs-1 {
		return t.firstOfMany(ctx, own, c, all)
	}
	return all, nil
}

const (
	refLine  = "--format=%(objectname) %(refname)"
	stashRef = "refs/stash"
)

// firstOfMany adds the stash to the lines of the first branches, and records how many are left out.
func (t *taker) firstOfMany(ctx context.Context, own gitcmd.Git, c *taken, all string) (string, error) {
	if stash, _ := own.Run(ctx, "for-each-ref", refLine, stashRef); !strings.HasSuffix(all, stash) {
		all += "\n" + stash
	}
	each, err := own.Run(ctx, "for-each-ref", "--format=.", headsRefs)
	total := strings.Count(each, ".")
	if more := total - strings.Count(all, " "+headsRefs); more > 0 {
		c.leaveOut(fmt.Sprintf("%d of %d branches: it has the first %d by name, and that of the head", more, total, maxRefs))
	}
	return all, err
}

// nameOf returns the ref of a line "<commit> <ref>".
func nameOf(line string) string { return line[strings.IndexByte(line, ' ')+1:] }

// without removes the refs whose commits are damaged.
func (t *taker) without(refs string, c *taken, s *gitState) string {
	var whole strings.Builder
	for line := range strings.Lines(refs) {
		if id, ref, _ := strings.Cut(strings.TrimSpace(line), " "); t.damaged[id] && id != c.said.Head {
			c.leaveOut(ref + damaged)
			continue
		}
		whole.WriteString(line)
	}
	s.parents = slices.DeleteFunc(s.parents, func(id string) bool { return t.damaged[id] && id != c.said.Head })
	return whole.String()
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
	loose, err := own.Run(ctx, append(args, "refs/heads", stashRef)...) // git before 2.31 takes --no-merged once
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
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(nameOf(a), nameOf(b)) })
	all, err := t.shadow.Run(ctx, "rev-parse", t.base+"^@")
	parents := strings.Fields(all)
	s.parents = append(s.parents, parents[min(1, len(parents)):]...) // the first one is the head
	return strings.Join(append(lines, ""), "\n"), err
}
