package acp

import (
	"cmp"
	"path/filepath"
	"regexp"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

var _ = register(Dialect{
	Name: "qwen", Title: "Qwen Code", Program: "qwen", Args: []string{"--acp"},
	Install: "npm install --prefix /usr/local -g @qwen-code/qwen-code@0.24.4", Least: "0.24.4",
	Environ: qwenEnviron,
	// In its mode auto, another model judges each command. In this one, Qwen Code asks for each.
	Mode: "default", Steer: SteerPull,
	ModeOf: func(f *jsonrpc.Frame, _ update) string {
		if f.Method != "qwen/notify/session/mode-update" {
			return ""
		}
		return jsonrpc.Into[update](f.Params).Mode
	},
	Files: func(p Place) map[string]string {
		return map[string]string{filepath.Join(p.Home, ".qwen", "settings.json"): qwenSettings}
	},
	Session: func(p Place, id string) (pattern, path string) {
		path = filepath.Join(p.Home, ".qwen", "projects", notWord.ReplaceAllString(p.Work, "-"), "chats", id+".jsonl")
		return path, path
	},
	Mute: true,
})

// qwenSettings turn off that Qwen Code adds itself to commits as an author with notes next to them, and that it asks the
// model after each turn for what the user may say next and for what to remember.
const qwenSettings = `{
  "general": {"gitCoAuthor": {"commit": false, "pr": false}},
  "ui": {"enableFollowupSuggestions": false},
  "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false}
}
`

var notWord = regexp.MustCompile(`[^A-Za-z0-9]`)

func qwenEnviron(_ Place, vars Vars) (Vars, error) {
	to := accessOf(vars, "openai")
	if to.none() {
		to = accessOf(vars, "openrouter")
		to.base = cmp.Or(to.base, openRouter)
	}
	switch {
	case to.key == "" && to.base == "" || to.key == "" && to.base == openRouter:
		return nil, noCredential("Qwen Code", "openai")
	case to.model == "":
		return nil, noModel("Qwen Code", "openai")
	}
	return set(vars, Vars{"OPENAI_API_KEY": cmp.Or(to.key, "none"), "OPENAI_BASE_URL": cmp.Or(to.base, openAI), "OPENAI_MODEL": to.model}), nil
}

// Endpoints of model providers.
const (
	openAI     = "https://api.openai.com/v1"
	openRouter = "https://openrouter.ai/api/v1"
)
