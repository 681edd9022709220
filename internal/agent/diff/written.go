package diff

import (
	"bytes"
	"context"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// AsWritten corrects the changes of files that Git writes in another form than it stores: with other line endings, in an encoding, or
// with $Id$. Until its first change, a file is in the trees as Git stores it. stored has the objects that Git stored, and no filters.
func AsWritten(ctx context.Context, git, stored gitcmd.Git, changes []Change) error {
	var paths strings.Builder
	for _, c := range changes {
		if c.before != "" && c.Note == "" {
			paths.WriteString(c.Path + "\x00")
		}
	}
	if paths.Len() == 0 {
		return nil
	}
	var said bytes.Buffer
	if err := stored.Stream(ctx, strings.NewReader(paths.String()), &said, "check-attr", "-z", "--stdin", "eol", "ident", "working-tree-encoding"); err != nil {
		return err
	}
	converted := map[string]bool{}
	for fields := strings.Split(said.String(), "\x00"); len(fields) > 3; fields = fields[3:] {
		value := fields[2]
		converted[fields[0]] = converted[fields[0]] || value != "unspecified" && value != "unset" && value != "lf"
	}
	for i := range changes {
		if c := &changes[i]; converted[c.Path] && c.before != "" {
			c.asWritten(ctx, git, stored)
		}
	}
	return nil
}

// asWritten compares with the written form of the content before, if Git stored this content and fewer lines differ then.
func (c *Change) asWritten(ctx context.Context, git, stored gitcmd.Git) {
	var before, after bytes.Buffer
	if stored.Stream(ctx, nil, &before, "cat-file", "--filters", "--path="+c.Path, c.before) != nil ||
		git.Stream(ctx, nil, &after, "cat-file", "blob", c.after) != nil {
		return
	}
	old, now := strings.ToValidUTF8(before.String(), "\uFFFD"), strings.ToValidUTF8(after.String(), "\uFFFD")
	if other := Text(c.Path, &old, &now); other.Note == "" && other.Added+other.Removed < c.Added+c.Removed {
		c.Diff, c.Added, c.Removed = other.Diff, other.Added, other.Removed
	}
}
