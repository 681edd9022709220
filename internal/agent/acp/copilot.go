package acp

import (
	"cmp"
	"path/filepath"
	"strings"
)

var _ = register(Dialect{
	Name: "copilot", Title: "GitHub Copilot CLI", Program: "copilot", Args: []string{"--acp"},
	Install: "npm install --prefix /usr/local -g @github/copilot@1.0.102", Least: "1.0.102",
	Environ: copilotEnviron, Steer: SteerAfter, Endpoint: "openai", SumsTokens: true, Guesses: true,
	Notice: func(u update) bool {
		kind, _, found := strings.Cut(u.text(), ": ")
		return found && (kind == "Info" || kind == "Warning" || kind == "Error")
	},
	Session: func(p Place, id string) (pattern, path string) {
		path = filepath.Join(p.Home, ".copilot", "session-state", id, "events.jsonl")
		return path, path
	},
})

// copilotEnviron uses a model of GitHub, or of another provider.
func copilotEnviron(_ Place, vars Vars) (Vars, error) {
	all := set(vars, Vars{"COPILOT_AUTO_UPDATE": "false"})
	if token := accessOf(vars, "github_copilot"); token.key != "" {
		return set(all, Vars{"COPILOT_GITHUB_TOKEN": token.key, "COPILOT_MODEL": cmp.Or(vars["COPILOT_MODEL"], token.model)}), nil
	}
	if vars["COPILOT_PROVIDER_BASE_URL"] != "" {
		return all, nil
	}
	for _, provider := range [][2]string{{"openai", openAI}, {"anthropic", "https://api.anthropic.com"}} {
		kind, endpoint := provider[0], provider[1]
		to := accessOf(vars, kind)
		switch {
		case to.none():
			continue
		case to.model == "":
			return nil, noModel("GitHub Copilot CLI", kind)
		}
		return set(all, Vars{
			"COPILOT_PROVIDER_TYPE": kind, "COPILOT_PROVIDER_BASE_URL": cmp.Or(to.base, endpoint), "COPILOT_PROVIDER_API_KEY": to.key,
			"COPILOT_MODEL": to.model, "COPILOT_OFFLINE": "true",
		}), nil
	}
	return nil, noCredential("GitHub Copilot CLI", "github_copilot")
}
