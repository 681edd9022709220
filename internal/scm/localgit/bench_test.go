package localgit_test

import (
	"bytes"
	"io"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/localgit"
)

// BenchmarkTask is what one task costs in git: branch, bundle, push, pull request.
func BenchmarkTask(b *testing.B) {
	dir := b.TempDir()
	repo := filepath.Join(dir, "repo")
	git(b, "", "init", "--quiet", "--initial-branch=main", repo)
	git(b, repo, "commit", "--quiet", "--allow-empty", "-m", "Start")
	host := localgit.New(localgit.Config{})
	for i := range b.N {
		branch, err := host.EnsureBranch(b.Context(), scm.BranchRequest{Repo: scm.Repo(repo), TicketID: "t", TaskID: strconv.Itoa(i), Title: "x"})
		require.NoError(b, err)
		var bundle bytes.Buffer
		require.NoError(b, host.Bundle(b.Context(), scm.Repo(repo), branch.Name, "", &bundle))
		_, err = host.Push(b.Context(), scm.Repo(repo), branch.Name, io.Reader(&bundle))
		require.NoError(b, err)
		_, err = host.EnsurePull(b.Context(), scm.Repo(repo), scm.PullRequest{Head: branch.Name})
		require.NoError(b, err)
	}
}
