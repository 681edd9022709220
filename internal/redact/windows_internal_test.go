package redact

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever stands where, marks find what the patterns find in the whole text.
func TestMarksMissNothing(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"\n", "\n", "\n", "\n \t\n", "\r\n", " ", " ", "\"", "'", ":", "=", ":", "=", "&", ";", ",", "_", "-", "@", "/", "://", "x", "ä", "\u00a0",
		"https://user:pw@host", "v1.", "v1.k1.QUJDREVGR0hJSktMTU5PUA", "sk-", "sk-abcdefgh", "ghp_", "ghp_0123456789", "github_pat_0123456789",
		"omoi_", "omoi_0123456789abcdef", "sk_live_0123456789abcdef", "eyJ", "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln",
		"bearer", "Bearer", "authorization", "AUTHORIZATION", "basic", "token", "Token", "password", "PassWord", "passwd", "secret", "apikey",
		"API_KEY", "api-key", "api", "to\u212aen", "pa\u017fsword", "hunter2", "p4ss",
	}
	texts := []string{"authorization\n:\nbasic\nx", "Bearer\n\n \nx", "x_token\n=\n'y'"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		var b strings.Builder
		for range random.IntN(40) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		texts = append(texts, b.String())
	}
	for _, text := range texts {
		for _, f := range forms {
			require.Equal(t, f.pattern.ReplaceAllString(text, "${1}"+Removed), f.remove(text), "%s in %q", f.pattern, text)
		}
	}
}

func BenchmarkScrub(b *testing.B) {
	text := strings.Repeat("2026-11-22T10:00:00Z INFO step 7 of the build wrote /workspace/repo/out/file-7.o in 12 ms\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Scrub(text, nil)
	}
}
