package diff

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// maxPatch is the maximum bytes of all diffs between two trees.
const maxPatch = 16 << 20

// Trees returns the changes between two tree objects, in order of path: at most limit of them, and their total number.
func Trees(ctx context.Context, git gitcmd.Git, from, to string, limit int) (changes []Change, total int, err error) {
	if from == to {
		return nil, 0, nil
	}
	var raw bytes.Buffer
	err = git.Stream(ctx, nil, &raw, "diff-tree", "-r", "-M", "-l2000", "--raw", "--no-abbrev", "--numstat", "-z", "--no-ext-diff", "--no-textconv", from, to)
	if err != nil {
		return nil, 0, err
	}
	all, sections, err := parseRaw(raw.Bytes())
	if err != nil {
		return nil, 0, err
	}
	patch := &bounded{limit: maxPatch}
	err = git.Stream(ctx, nil, patch, "diff-tree", "-r", "-M", "-l2000", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", from, to)
	if err != nil {
		return nil, 0, err
	}
	attach(all, sections, patch)
	return all[:min(limit, len(all))], len(all), nil
}

// parseRaw parses the raw list and the line counts that follow it. sections is the number of parts of the patch for
// each change: a change of the file type has two, a delete and a create.
func parseRaw(raw []byte) (changes []Change, sections []int, err error) {
	fields := strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
	i := 0
	for i < len(fields) && strings.HasPrefix(fields[i], ":") {
		parts := strings.Fields(fields[i])
		if len(parts) < 5 || i+1 >= len(fields) {
			return nil, nil, fmt.Errorf("git diff-tree: unexpected line %q", fields[i])
		}
		c, n := Change{Path: fields[i+1], Kind: Modified}, 1
		i += 2
		switch parts[4][0] {
		case 'M':
			c.before, c.after = parts[2], parts[3]
		case 'A':
			c.Kind = Created
		case 'D':
			c.Kind = Deleted
		case 'T':
			n = 2
		case 'R', 'C':
			if i >= len(fields) {
				return nil, nil, fmt.Errorf("git diff-tree: rename without a new name")
			}
			c.Kind, c.OldPath, c.Path = Renamed, c.Path, fields[i]
			i++
		}
		changes, sections = append(changes, c), append(sections, n)
	}
	counts(changes, fields[i:])
	return changes, sections, nil
}

// counts parses "added TAB removed TAB path". A rename has an empty path and two more fields.
func counts(changes []Change, fields []string) {
	k := 0
	for i := 0; i < len(fields) && k < len(changes); i++ {
		parts := strings.SplitN(fields[i], "\t", 3)
		if len(parts) != 3 {
			continue
		}
		c := &changes[k]
		if parts[0] == "-" {
			c.Binary, c.Note = true, "Binary file."
		}
		c.Added, _ = strconv.Atoi(parts[0])
		c.Removed, _ = strconv.Atoi(parts[1])
		if parts[2] == "" {
			i += 2
		}
		k++
	}
}

// attach adds to each change its parts of the patch, which has the same order.
func attach(changes []Change, sections []int, patch *bounded) {
	parts := split(patch.buf.String())
	at := 0
	for i := range changes {
		c := &changes[i]
		last := at + sections[i]
		if last > len(parts) || (patch.cut && last == len(parts)) {
			c.missing()
			at = last
			continue
		}
		for ; at < last && !c.Binary; at++ {
			c.Diff += body(parts[at])
		}
		at = last
		if len(c.Diff) > textBytes {
			c.Diff = ""
			c.missing()
		}
	}
}

func (c *Change) missing() {
	if c.Note == "" {
		c.Note = "Too large for a diff."
	}
}

// split splits a patch into files. Lines of content start with a space, a sign or a backslash, so only a header starts
// with "diff --git ".
func split(patch string) []string {
	const header = "diff --git "
	var parts []string
	for patch != "" {
		next := strings.Index(patch[1:], "\n"+header)
		if next < 0 {
			return append(parts, patch)
		}
		parts = append(parts, patch[:next+2])
		patch = patch[next+2:]
	}
	return parts
}

// body removes the lines of git before the file names. A change of mode alone has no other lines.
func body(part string) string {
	if strings.HasPrefix(part, "--- ") {
		return part
	}
	if at := strings.Index(part, "\n--- "); at >= 0 {
		return part[at+1:]
	}
	return ""
}

// bounded keeps the first limit bytes that are written to it.
type bounded struct {
	buf   bytes.Buffer
	limit int
	cut   bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.buf.Len()
	if room < len(p) {
		b.cut = true
	}
	b.buf.Write(p[:min(max(room, 0), len(p))])
	return len(p), nil
}

// Names returns the paths that differ between two tree objects, and the number of changes. Deleted paths are not
// listed; a rename counts once, with its new path.
func Names(ctx context.Context, git gitcmd.Git, from, to string) (paths []string, total int, err error) {
	if from == to {
		return nil, 0, nil
	}
	var raw bytes.Buffer
	err = git.Stream(ctx, nil, &raw, "diff-tree", "-r", "-M", "-l2000", "--raw", "-z", "--no-ext-diff", from, to)
	if err != nil {
		return nil, 0, err
	}
	changes, _, err := parseRaw(raw.Bytes())
	for _, c := range changes {
		if c.Kind != Deleted {
			paths = append(paths, c.Path)
		}
	}
	return paths, len(changes), err
}
