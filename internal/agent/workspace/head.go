package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// head is what a bundle says of itself.
type head struct {
	format string // of its ids: sha1 or sha256
	cuts   string // the commits at which its history is cut, a line each
}

// headOf asks git for the refs of a bundle.
func headOf(ctx context.Context, git gitcmd.Git, bundle string) (head, error) {
	text, err := git.Run(ctx, "bundle", "list-heads", bundle)
	if err != nil {
		return head{}, fmt.Errorf("read the repository's bundle: %w", err)
	}
	h := head{format: "sha1"}
	for line := range strings.Lines(text) {
		commit, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if len(commit) == hex.EncodedLen(sha256.Size) {
			h.format = "sha256"
		}
		if strings.HasPrefix(ref, agentconfig.CutRefs) {
			h.cuts += commit + "\n"
		}
	}
	return h, nil
}
