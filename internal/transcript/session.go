package transcript

import (
	"bytes"

	"github.com/omoi-dev/omoi/internal/task"
)

// RunOfSession returns the run of a transcript that arrived without one: inside an event, or from OmoiOS.
func RunOfSession(sandboxID, sessionID string) string {
	return "session-" + task.DerivedID("session", sandboxID, sessionID)
}

// Newest returns the last whole lines of a content that exceeds limit, at most three quarters of limit, so that not
// every piece rewrites the whole text.
func Newest(content []byte, limit int64) []byte {
	if int64(len(content)) <= limit {
		return content
	}
	from := int64(len(content)) - limit*3/4
	line := bytes.IndexByte(content[from-1:], '\n')
	if line < 0 {
		return []byte{} // the last line alone exceeds the limit
	}
	return content[from+int64(line):]
}
