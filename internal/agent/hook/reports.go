package hook

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/wait"
)

const (
	reportsName = "reports" // events that are not in the spool yet, one file each
	allowedName = "allowed" // what a user allowed once, one empty file each
	usedName    = "used"    // what of it was used up
	lookEvery   = 200 * time.Millisecond
)

// stored is an event of the hook.
type stored struct {
	Type string         `json:"type"`
	Data map[string]any `json:"data"`
}

// reportName returns a name that sorts by time.
func reportName() string { return fmt.Sprintf("%020d-%s.json", time.Now().UnixNano(), suffix()) }

func suffix() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// digest identifies a call by its tool, and its command or file.
func digest(c Call) string {
	sum := sha256.Sum256([]byte(c.Tool + "\x00" + c.command() + "\x00" + strings.Join(c.files(), "\x00")))
	return hex.EncodeToString(sum[:8])
}

// Open writes the limits for the hook.
func Open(dir string, l Limits) error {
	for _, name := range []string{reportsName, allowedName, usedName} {
		if err := os.MkdirAll(filepath.Join(folder(dir), name), 0o700); err != nil {
			return fmt.Errorf("create the folder of the hook: %w", err)
		}
	}
	return statefile.Save(filepath.Join(folder(dir), limitsName), l)
}

// Forward emits the reports of the hook until ctx ends, and then those that are left.
func Forward(ctx context.Context, dir string, emit func(eventType string, data map[string]any)) {
	sent := map[string]bool{}
	for wait.For(ctx, lookEvery) == nil {
		forward(dir, sent, emit)
	}
	forward(dir, sent, emit)
}

// ForwardLeft emits the reports of the hook that are left, for example after a crash of omoi-agent.
func ForwardLeft(dir string, emit func(eventType string, data map[string]any)) {
	forward(dir, map[string]bool{}, emit)
}

// Left returns the number of reports that are not emitted.
func Left(dir string) int { return len(left(dir)) }

// left returns the paths of the reports, the oldest first.
func left(dir string) (paths []string) {
	at := filepath.Join(folder(dir), reportsName)
	entries, _ := os.ReadDir(at) // sorted; without the folder there are none
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".json") { // else it is not written to its end
			paths = append(paths, filepath.Join(at, e.Name()))
		}
	}
	return paths
}

// forward emits each report once. In sent are those whose file could not be removed.
func forward(dir string, sent map[string]bool, emit func(eventType string, data map[string]any)) {
	for _, path := range left(dir) {
		if sent[path] {
			continue
		}
		var s stored
		if text, ok := gitcmd.ReadSmall(path); ok && json.Unmarshal(text, &s) == nil && own(s.Type) {
			emit(s.Type, s.Data)
		}
		if os.Remove(path) != nil {
			sent[path] = true
		}
	}
}

// own reports whether an event type is one of the hook.
func own(eventType string) bool {
	return eventType == event.AgentToolRefused || eventType == event.AgentToolAllowed || eventType == event.AgentToolUnchecked
}

// idForm is the form of the ID of a refusal: the digest of the call, and a random suffix.
var idForm = regexp.MustCompile(`^[0-9a-f]{16}-[0-9a-f]{8}$`)

// Allow lets the call of a refusal run once.
func Allow(dir, refusal string) error {
	if !idForm.MatchString(refusal) {
		return fmt.Errorf("%q is not the ID of a refusal", refusal)
	}
	if _, err := os.Stat(filepath.Join(folder(dir), usedName, refusal)); err == nil {
		return nil // the message arrived again
	}
	f, err := os.OpenFile(filepath.Join(folder(dir), allowedName, refusal), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("store what a user allowed: %w", err)
	}
	return f.Close()
}

// takeAllowed uses up what a user allowed for a call; empty: nothing. Of calls at the same time, one takes it.
func takeAllowed(dir, what string) (refusal string) {
	found, _ := filepath.Glob(filepath.Join(folder(dir), allowedName, what+"-*"))
	for _, path := range found {
		id := filepath.Base(path)
		if os.Rename(path, filepath.Join(folder(dir), usedName, id)) == nil {
			return id
		}
	}
	return ""
}
