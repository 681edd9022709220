package acp

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

var _ = register(Dialect{
	Name: "gemini", Title: "Gemini CLI", Program: "gemini", Args: []string{"--acp"},
	Install: "npm install --prefix /usr/local -g @google/gemini-cli@0.61.0", Least: "0.61.0",
	Environ: geminiEnviron,
	Mode:    "default", Steer: SteerAfter, NextMinute: true,
	Notice: func(u update) bool { return strings.HasPrefix(u.text(), geminiMode) },
	ModeOf: func(_ *jsonrpc.Frame, u update) string {
		if mode, found := strings.CutPrefix(u.text(), geminiMode); found {
			return strings.TrimSpace(mode)
		}
		return ""
	},
	// Gemini CLI finds the folder of a workspace by a file with its path.
	Files: func(p Place) map[string]string {
		return map[string]string{filepath.Join(geminiFolder(p), ".project_root"): p.Work}
	},
	Session: func(p Place, id string) (pattern, path string) {
		chats := filepath.Join(p.Home, ".gemini", "tmp", "*", "chats")
		file := "-" + textcut.First(id, 8) + ".jsonl" //nolint:mnd // Gemini CLI names the file by that much of the ID
		return filepath.Join(chats, "session-*"+file), filepath.Join(geminiFolder(p), "chats", "session-2026-01-01T00-00"+file)
	},
	Folder:  regexp.MustCompile(`Workspace Directories:\*\*\\n  - ([^\\"]+)`),
	Correct: correctGemini,
})

// geminiFolder returns Gemini CLI's folder for the workspace.
func geminiFolder(p Place) string { return filepath.Join(p.Home, ".gemini", "tmp", "omoi") }

// geminiMode begins the text in which Gemini CLI tells a new mode.
const geminiMode = "[MODE_UPDATE]"

func geminiEnviron(_ Place, vars Vars) (Vars, error) {
	to := accessOf(vars, "google")
	to.key = cmp.Or(vars["GEMINI_API_KEY"], to.key)
	if to.base = cmp.Or(vars["GOOGLE_GEMINI_BASE_URL"], to.base); to.none() {
		return nil, noCredential("Gemini CLI", "google")
	}
	return set(vars, Vars{
		"GEMINI_API_KEY": cmp.Or(to.key, "none"), "GOOGLE_GEMINI_BASE_URL": to.base, "GEMINI_MODEL": cmp.Or(to.model, vars["GEMINI_MODEL"]),
		"GEMINI_CLI_TRUST_WORKSPACE": "true", "GOOGLE_API_KEY": "",
	}), nil
}
