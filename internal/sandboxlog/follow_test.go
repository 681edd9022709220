package sandboxlog_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandboxlog"
)

// speaker is a printer that hands on what it prints.
type speaker struct {
	*printer

	asked int // how often it was asked for its log
	out   *io.PipeWriter
	left  chan struct{} // closed when nobody listens any more
}

func (p *speaker) Log(ctx context.Context, labels sandbox.Labels, offset int64) (io.ReadCloser, error) {
	p.asked++
	return p.printer.Log(ctx, labels, offset)
}

func (p *speaker) Follow(context.Context, sandbox.Labels, int64) (io.ReadCloser, error) {
	r, w := io.Pipe()
	p.out, p.left = w, make(chan struct{})
	return &heard{r, p.left}, nil
}

type heard struct {
	*io.PipeReader

	left chan struct{}
}

func (h *heard) Close() error {
	close(h.left)
	return h.PipeReader.Close()
}

// says prints, and returns when that has been heard.
func (p *speaker) says(t *testing.T, text string) {
	t.Helper()
	p.log += text
	for _, part := range []string{text, ""} { // the second one is taken when the first one is kept
		_, err := io.WriteString(p.out, part)
		require.NoError(t, err)
	}
}

// While somebody looks, a log that is handed on is not asked for at each round; from time to time it is, since a stream may hang.
func TestALogThatIsHandedOnIsNotAskedFor(t *testing.T) {
	t.Parallel()
	_, s, printed := watch(1000)
	p := &speaker{printer: printed}
	hide := func(context.Context, string, map[string]string) (func(string) string, error) {
		return func(text string) string { return text }, nil
	}
	open := func(ask time.Duration) *sandboxlog.Watcher {
		return sandboxlog.New(sandboxlog.Config{Keep: 1000, Ask: ask, Hide: hide}, s, []sandbox.Provider{p}, slog.New(slog.DiscardHandler))
	}
	w := open(time.Hour)
	p.log = ""
	w.Round(t.Context())
	require.Equal(t, []int{1, 1}, []int{p.asked, s.looked}, "at first it is read to its end")
	for _, text := range []string{"one\nhalf a ", "line\n", "three\n"} {
		p.says(t, text)
		w.Round(t.Context())
	}
	require.Equal(t, "one\nhalf a line\nthree\n", s.text())
	require.Equal(t, []int{1, 4}, []int{p.asked, s.looked}, "readers at the end are not kept waiting until it is asked for again")
	for n := 1; n < len(s.parts); n++ {
		require.Equal(t, s.parts[n-1].Last, s.parts[n].First, "no byte is missing, none comes twice")
	}
	p.log += "not handed on\n"
	require.NoError(t, p.out.Close())
	require.Eventually(t, func() bool {
		w.Round(t.Context())
		return p.asked > 1
	}, time.Minute, time.Millisecond)
	require.Equal(t, p.log, s.text(), "after its end it is asked for")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	w.Run(over)
	<-p.left

	w = open(time.Nanosecond)
	for range 3 {
		w.Round(t.Context())
	}
	w.Run(over)
	require.GreaterOrEqual(t, p.asked, 5)
}
