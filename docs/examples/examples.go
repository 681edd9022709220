// Package examples holds scripts for the scripted agent, so that they can be tried in every folder.
package examples

import "embed"

//go:embed *.json
var files embed.FS

// Read returns the script of that name, as hello; the error is of [io/fs.ErrNotExist] if there is none.
func Read(name string) ([]byte, error) { return files.ReadFile(name + ".json") }

// Names lists the scripts.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name()[:len(e.Name())-len(".json")])
	}
	return names
}
