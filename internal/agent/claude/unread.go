package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

const (
	maxLine    = 8 << 20  // a longer one is left out, and is told of
	headBytes  = 64 << 10 // of it that are looked at
	mostUnread = 10       // lines of one process that are told of though they cannot be read
)

// Types of lines of our own, for what the program printed and could not be used.
const (
	lineLeftOut = "omoi_line_left_out"
	lineUnread  = "omoi_line_unread"
)

// lineOf reads a line of which full bytes were printed; nil: it is empty.
func lineOf(raw []byte, full int) *line {
	if full > len(raw) {
		return leftOut(raw, full)
	}
	if l := parse(raw); l != nil || len(bytes.TrimSpace(raw)) == 0 {
		return l
	}
	return made(map[string]any{"type": lineUnread, "omoi_text": textcut.First(strings.ToValidUTF8(string(raw), "?"), resultBytes)})
}

var resultForm = regexp.MustCompile(`"tool_use_id": ?"([^"\\]+)"`)

// leftOut stands for a line that is too long. Of a tool's result it is known whose it is, so that
// the call ends all the same.
func leftOut(head []byte, full int) *line {
	id := resultForm.FindSubmatch(head)
	if id == nil {
		return made(map[string]any{"type": lineLeftOut, "bytes": full})
	}
	text := fmt.Sprintf("[%d bytes, left out: a line of the agent may have %d]", full, maxLine)
	result := map[string]any{"type": "tool_result", "tool_use_id": string(id[1]), "content": text}
	return made(map[string]any{"type": "user", "omoi_bytes": full, "message": map[string]any{"role": "user", "content": []any{result}}})
}

func made(fields map[string]any) *line {
	text, _ := json.Marshal(fields) //nolint:errchkjson // plain
	return parse(text)
}
