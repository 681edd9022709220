package salvage

import (
	"bytes"
	"context"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/workspace"
)

// cutWhere returns the path of git's list of commits at which the history is cut. An agent may have cut it elsewhere,
// for example with git fetch --depth, and such a cut fits no other repository. The list of the origin that omoi created
// is therefore preferred, unless the history cannot be read with it and the origin's objects, for example in a clone
// that the agent made. Empty: the workspace's own list.
func (c *collector) cutWhere(ctx context.Context) string {
	if c.alone || c.cfg.Repo == nil {
		return ""
	}
	made := c.origin("shallow")
	want, _ := gitcmd.ReadSmall(made) // a missing file means no cut
	have, _ := gitcmd.ReadSmall(filepath.Join(c.cfg.Workspace, ".git", "shallow"))
	if bytes.Equal(want, have) {
		return ""
	}
	c.cut = made
	if head := c.look().Commit(ctx, "HEAD"); head != "" {
		if _, err := c.look().Run(ctx, "rev-list", "--count", head); err != nil {
			return ""
		}
	}
	return made
}

// origin returns a path in the bare repository next to the workspace.
func (c *collector) origin(name string) string {
	return filepath.Join(c.cfg.Dir, workspace.OriginName, name)
}

// cuts returns arguments that omit the commits at which the history is cut.
func (c *collector) cuts() (without []string) {
	list, _ := gitcmd.ReadSmall(filepath.Join(c.git.GitDir, "shallow"))
	for commit := range bytes.FieldsSeq(list) {
		without = append(without, "^"+string(commit))
	}
	return without
}
