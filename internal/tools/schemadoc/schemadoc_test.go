package schemadoc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
	"github.com/omoi-dev/omoi/internal/tools/schemadoc"
	"github.com/omoi-dev/omoi/migrations"
)

func TestDocumentationIsCurrent(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	conn, err := pgtest.New(t).Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	page, err := schemadoc.Markdown(t.Context(), conn.Conn(), schemadoc.Sources{
		Migrations: migrations.FS, Store: os.DirFS(filepath.Join(root, "internal", "postgres")),
	})
	require.NoError(t, err)
	path := filepath.Join(root, "docs", "SCHEMA.md")
	if os.Getenv("OMOI_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, page, string(content), "run make generate")
	for table := range strings.SplitSeq(page, "\n### ") {
		name, rest, _ := strings.Cut(table, "\n")
		if !strings.HasPrefix(name, "#") && !strings.HasPrefix(name, "task_briefs") && !strings.HasPrefix(name, "ended_") {
			require.Contains(t, rest, "Written by", name)
		}
	}
}
