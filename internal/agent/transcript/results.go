package transcript

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"time"

	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	// lineWait is the maximum time that Through waits for a line. In a measurement, Claude Code wrote it up to 120 ms after it had
	// printed the result.
	lineWait   = time.Second
	lineEvery  = 20 * time.Millisecond
	maxResults = 1000 // further ones replace all earlier ones
)

// ResultForm matches the ID of the tool call in a line with its result.
var ResultForm = regexp.MustCompile(`"tool_use_id": ?"([^"\\]+)"`)

// noteResults records where the results of a piece end.
func (k *Keeper) noteResults(piece []byte) {
	for _, found := range ResultForm.FindAllSubmatchIndex(piece, -1) {
		if len(k.results) >= maxResults {
			clear(k.results)
		}
		end := found[1] + bytes.IndexByte(piece[found[1]:], '\n') + 1
		k.results[string(piece[found[2]:found[3]])] = k.place.sent + int64(end)
	}
}

// Through sends the transcript at least up to the result of a tool call of Claude Code, for which it waits up to a second. It returns
// the length up to there, as [Keeper.Sent] counts; zero if there is no such line.
func (k *Keeper) Through(ctx context.Context, call string) (length int64) {
	ctx, cancel := context.WithTimeout(ctx, lineWait)
	defer cancel()
	for {
		k.mu.Lock()
		length = k.results[call]
		k.mu.Unlock()
		if length > 0 {
			return length
		}
		if err := k.Send(ctx); err != nil {
			k.log.DebugContext(ctx, "send transcript failed, retrying", slog.Any("error", err))
		}
		if wait.For(ctx, lineEvery) != nil {
			return 0
		}
	}
}
