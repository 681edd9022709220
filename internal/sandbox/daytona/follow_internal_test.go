package daytona

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogMarksAreFoundWhereverFramesAreCut(t *testing.T) {
	t.Parallel()
	whole := "\x01\x01\x01one\n\x02\x02\x02err\n\x01\x01\x01two\x01\x02\n"
	for size := 1; size <= len(whole); size++ {
		s, out := &splitter{}, []byte{}
		for rest := whole; rest != ""; {
			n := min(size, len(rest))
			out = append(out, s.stdout([]byte(rest[:n]))...)
			rest = rest[n:]
		}
		require.Equal(t, "one\ntwo\x01\x02\n", string(out), "frames of %d bytes", size)
	}
}
