package acp

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
)

var _ = register(Dialect{
	Name: "opencode", Title: "opencode", Program: "opencode", Args: []string{"acp"},
	Install: "npm install --prefix /usr/local -g opencode-ai@1.18.33", Least: "1.18.33",
	Environ: opencodeEnviron, Steer: SteerFold,
	Session: func(p Place, id string) (pattern, path string) {
		path = filepath.Join(p.Dir, "opencode", id+".jsonl")
		return path, path
	},
	Folder:  regexp.MustCompile(`"directory":"([^"\\]+)"`),
	Journal: &Journal{Serve: serveOpencode, Follow: followOpencode, Import: importOpencode},
})

// opencodeEnviron names provider and model itself: without them opencode sends the code to a free hosted model.
func opencodeEnviron(_ Place, vars Vars) (Vars, error) {
	for _, kind := range []string{"openrouter", "anthropic", "openai", "google"} {
		to := accessOf(vars, kind)
		switch {
		case to.none():
			continue
		case to.model == "":
			return nil, noModel("opencode", kind)
		}
		return set(vars, Vars{
			"OPENCODE_CONFIG_CONTENT": opencodeConfig(kind, to), "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
		}), nil
	}
	return nil, noCredential("opencode", "openrouter")
}

// opencodeConfig returns opencode's configuration. The key stays in its variable.
func opencodeConfig(provider string, to access) string {
	options := map[string]any{}
	if to.key != "" {
		options["apiKey"] = "{env:" + strings.ToUpper(provider) + "_API_KEY}"
	}
	if to.base != "" {
		options["baseURL"] = to.base
	}
	model := provider + "/" + to.model
	text, _ := json.Marshal(map[string]any{ //nolint:errchkjson // JSON values
		"model": model, "small_model": model, "autoupdate": false, "share": "disabled", "disabled_providers": []string{"opencode"},
		"provider":   map[string]any{provider: map[string]any{"options": options, "models": map[string]any{to.model: map[string]any{}}}},
		"permission": map[string]any{"edit": "ask", "bash": "ask"},
	})
	return string(text)
}
