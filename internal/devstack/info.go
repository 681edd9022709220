package devstack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Info is the content of dev.json: the addresses of a running omoi dev.
type Info struct {
	APIURL            string `json:"api_url"`
	TemporalAddress   string `json:"temporal_address"`
	TemporalNamespace string `json:"temporal_namespace"`
	TemporalUIURL     string `json:"temporal_ui_url"`
	DatabaseURL       string `json:"database_url"`
	DaytonaURL        string `json:"daytona_url,omitempty"` // of the Daytona emulator
	DaytonaKey        string `json:"daytona_key,omitempty"`
	PID               int    `json:"pid"`
}

// InfoPath returns the path of dev.json in a home directory.
func InfoPath(home string) string { return filepath.Join(home, "dev.json") }

// ReadInfo reads dev.json. After a kill -9 the file describes a process that no longer exists.
func ReadInfo(home string) (Info, error) {
	var info Info
	err := readJSON(InfoPath(home), &info)
	return info, err
}

// LastInfo returns the current or the last addresses; zero before the first start.
func LastInfo(home string) Info {
	info, err := ReadInfo(home)
	if err != nil && readJSON(lastPath(home), &info) != nil {
		return Info{}
	}
	return info
}

// RetireInfo renames dev.json to last.json when the process ends. The next start prefers the same ports.
func RetireInfo(home string) error { return os.Rename(InfoPath(home), lastPath(home)) }

func lastPath(home string) string { return filepath.Join(home, "last.json") }

// WriteInfo replaces dev.json.
func WriteInfo(home string, info Info) error { return writeJSON(InfoPath(home), info) }

func readJSON(path string, into any) error {
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return nil
}

// writeJSON writes a file atomically.
func writeJSON(path string, value any) error {
	var content bytes.Buffer
	out := json.NewEncoder(&content)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false) // keeps & in addresses unescaped
	temp := path + ".new"
	err := out.Encode(value)
	if err == nil {
		err = os.WriteFile(temp, content.Bytes(), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return os.Rename(temp, path)
}
