package migrations_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/migrations"
)

// TestMigrationsAreThoseOfSHA256SUMS also covers the migrations that are younger than FROZEN. A new migration adds its line:
// sha256sum 0008_name.sql >> SHA256SUMS.
func TestMigrationsAreThoseOfSHA256SUMS(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations.FS, "*.sql")
	require.NoError(t, err)
	var sums strings.Builder
	for _, name := range names {
		content, err := fs.ReadFile(migrations.FS, name)
		require.NoError(t, err)
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
	}
	listed, err := os.ReadFile("SHA256SUMS")
	require.NoError(t, err)
	require.Equal(t, string(listed), sums.String(), "a landed migration changed, or a migration is not listed; see docs/decisions/0075-frozen-forms.md")
}
