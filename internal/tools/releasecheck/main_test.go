package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// archive writes a release archive of a platform with content as bin/omoi.
func archive(t *testing.T, platform string, content []byte) string {
	t.Helper()
	var out bytes.Buffer
	plain, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	require.NoError(t, err)
	w := tar.NewWriter(plain)
	for name, text := range map[string][]byte{
		program: content, "omoi/LICENSE": {1}, "omoi/README.md": {1}, "omoi/share/completions/omoi.bash": {1},
		"omoi/share/man/man1/omoi.1": {1},
	} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}))
		_, err := w.Write(text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, plain.Close())
	path := filepath.Join(t.TempDir(), "omoi-"+platform+".tar.gz")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	return path
}

func TestCheck(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	bare, err := os.ReadFile(self) // any Go program that is not packed
	require.NoError(t, err)
	bare = bytes.ReplaceAll(bare, []byte("omoi/internal/testkit"), []byte("omoi/internal/xxxxxxx"))
	bare = bytes.ReplaceAll(bare, []byte("omoi/internal/bench"), []byte("omoi/internal/xxxxx"))
	agent := filepath.Join(t.TempDir(), "agent")
	program := make([]byte, 100)
	_, _ = rand.NewChaCha8([32]byte{}).Read(program)
	require.NoError(t, os.WriteFile(agent, program, 0o600))
	whole := append(bytes.Clone(bare), program...)
	tests := []struct {
		name     string
		content  []byte
		limit    int
		platform string // empty: that of this program
		want     string // empty: nothing is wrong
	}{
		{"good", whole, maxArchive, "", ""},
		{"no agent", bare, maxArchive, "", "does not contain"},
		{"packed", append([]byte("UPX!"), program...), maxArchive, "", "is packed or damaged"},
		{"test doubles", append(bytes.Clone(whole), "github.com/omoi-dev/omoi/internal/"+"testkit/daytona.Start"...), maxArchive, "", "contains omoi/internal/testkit"},
		{"another platform", whole, maxArchive, "plan9-mips", "is built for"},
		{"too large", whole, 1000, "", "at most 1000 allowed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := check(archive(t, cmp.Or(test.platform, runtime.GOOS+"-"+runtime.GOARCH), test.content), test.limit, []string{agent})
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}
