package acp

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// Limits of a summary in bytes.
const (
	summaryText  = 600
	summaryBytes = 8000
)

// summaryOf returns the newest texts of a session's transcript, in whatever form an agent writes it; empty: none.
func summaryOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	var texts []string
	for lines := bufio.NewReaderSize(file, 64<<10); err == nil; {
		var line []byte
		line, _, err = textcut.ReadLine(lines, jsonrpc.MaxLine, 0)
		texts = append(texts, textsOf(jsonrpc.Into[any](line))...)
		texts = texts[max(len(texts)-summaryBytes/10, 0):]
	}
	return newest(texts)
}

// newest returns the last texts that fit.
func newest(texts []string) string {
	var kept []string
	size := 0
	for _, text := range slices.Backward(texts) {
		if size += len(text); size > summaryBytes {
			break
		}
		if len(kept) == 0 || kept[len(kept)-1] != text {
			kept = append(kept, text)
		}
	}
	slices.Reverse(kept)
	return strings.Join(kept, "\n")
}

// textsOf returns the texts of an entry.
func textsOf(entry any) (all []string) {
	switch v := entry.(type) {
	case []any:
		for _, part := range v {
			all = append(all, textsOf(part)...)
		}
	case map[string]any:
		for _, key := range []string{"text", "content", "message", "parts", "payload"} {
			if text, ok := v[key].(string); ok && strings.TrimSpace(text) != "" {
				all = append(all, strings.Clone(textcut.First(text, summaryText)))
			} else if !ok {
				all = append(all, textsOf(v[key])...)
			}
		}
	}
	return all
}

// entry is a line of omoi's own transcript, of an agent whose session cannot be moved.
type entry struct {
	Role string          `json:"role"` // user, agent or tool
	Text string          `json:"text"`
	Tool string          `json:"tool,omitempty"`
	Data json.RawMessage `json:"input,omitempty"`
}
