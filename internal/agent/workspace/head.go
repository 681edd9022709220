package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
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

// cut tells a new repository at which commits its history is cut, so that git misses nothing in front of them.
func (h *head) cut(repository string) error {
	if h.cuts == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(repository, "shallow"), []byte(h.cuts), 0o644); err != nil { //nolint:gosec // as git writes it
		return fmt.Errorf("note where the history is cut: %w", err)
	}
	return nil
}
