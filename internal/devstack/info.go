package devstack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Info is dev.json: where the parts of a running omoi dev are reached.
type Info struct {
	APIURL            string `json:"api_url"`
	TemporalAddress   string `json:"temporal_address"`
	TemporalNamespace string `json:"temporal_namespace"`
	TemporalUIURL     string `json:"temporal_ui_url"`
	DatabaseURL       string `json:"database_url"`
	DaytonaURL        string `json:"daytona_url,omitempty"` // of the emulator
	DaytonaKey        string `json:"daytona_key,omitempty"`
	PID               int    `json:"pid"`
}

// InfoPath is where dev.json of a home directory is.
func InfoPath(home string) string { return filepath.Join(home, "dev.json") }

// ReadInfo reads dev.json. After a kill -9 it is of a process that has ended.
func ReadInfo(home string) (Info, error) {
	var info Info
	err := readJSON(InfoPath(home), &info)
	return info, err
}

// LastInfo is where the parts are or were last reached; zero before the first start.
func LastInfo(home string) Info {
	info, err := ReadInfo(home)
	if err != nil && readJSON(lastPath(home), &info) != nil {
		return Info{}
	}
	return info
}

// RetireInfo ends dev.json with its process; the next start asks for the same ports.
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

// writeJSON replaces a file in one step, so that a reader never sees half of it.
func writeJSON(path string, value any) error {
	var content bytes.Buffer
	out := json.NewEncoder(&content)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false) // an address with & in it is for copying
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
