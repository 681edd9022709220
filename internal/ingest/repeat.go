package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
)

// RepeatWindow is how long a worker of the replaced system may go on sending the same event: three
// tries of 30 s each, and the waits between them.
const RepeatWindow = 2 * time.Minute

const repeatKeys = ownKeys + "repeat:"

// repeatKey is the key of an event without one that its sender would send again: after an answer
// that did not come, or a 503 for a commit of which nobody knew the outcome. The old workers do so
// with agent.completed alone, and have no ids for it; what it says is its key. Empty: none.
func repeatKey(e Event) string {
	if e.Type != event.AgentCompleted {
		return ""
	}
	sum := sha256.New()
	_, _ = io.WriteString(sum, e.Source+"\x00") // a hash never returns an error
	_, _ = sum.Write(e.Data)
	return repeatKeys + hex.EncodeToString(sum.Sum(nil))
}

// Repeats reports whether an event of a key is the one that came before, so much earlier. Of a key
// of ours it is for a while only: later the same may be said again.
func Repeats(key string, since time.Duration) bool {
	return since <= RepeatWindow || !strings.HasPrefix(key, repeatKeys)
}
