package claude

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// DefaultTools are the allowed tools of a task that sets none; defaultMode is its permission mode.
const (
	DefaultTools = "Read,Write,Edit,Bash,Glob,Grep,Task,Skill"
	defaultMode  = "acceptEdits"
	hookSeconds  = 10 // after which the program runs a call unchecked
)

// arguments returns the program's command line. The command line contains neither secrets nor texts of the task, which
// go through standard input.
func (t *talk) arguments() []string {
	env, vars, place := t.Env, t.Vars, t.place
	may := asks(env, vars)
	args := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages",
		"--permission-mode", cmp.Or(vars["PERMISSION_MODE"], defaultMode),
		"--append-system-prompt", systemPrompt(env, vars, may),
	}
	if place.Begun {
		args = append(args, "--resume", place.SessionID)
	} else {
		args = append(args, "--session-id", place.SessionID)
	}
	for _, flag := range [][2]string{
		{"--model", cmp.Or(vars["MODEL"], vars["ANTHROPIC_MODEL"])},
		{"--max-turns", t.turnsLeft()},
		// The rest of the attempt's budget.
		{"--max-budget-usd", strconv.FormatFloat(t.Limits.Cost-t.rec.now().cost, 'f', 4, 64)},
	} {
		if flag[1] != "" {
			args = append(args, flag[0], flag[1])
		}
	}
	if env.Hook != "" {
		args = append(args, "--settings", hooks(env.Hook))
	}
	if may != askNever {
		args = append(args, "--permission-prompt-tool", "stdio")
	}
	allowed, refused := tools(vars, may)
	if len(refused) > 0 {
		args = append(args, "--disallowedTools", strings.Join(refused, ","))
	}
	return append(args, "--allowedTools", strings.Join(allowed, ","))
}

// hooks returns the settings with the hook that checks the tools which run commands and change files. The repository cannot
// disable it, because settings of the command line come first.
func hooks(command string) string {
	settings, _ := json.Marshal(map[string]any{"disableAllHooks": false, "hooks": map[string]any{"PreToolUse": []any{map[string]any{ //nolint:errchkjson // of texts
		"matcher": "Bash|Monitor|Edit|MultiEdit|Write|NotebookEdit",
		"hooks":   []any{map[string]any{"type": "command", "command": command, "timeout": hookSeconds}},
	}}}})
	return string(settings)
}

// turnsLeft returns the maximum number of turns of the next input: that of an iteration in continuous mode, else the
// rest of the attempt's. Empty: no limit.
func (t *talk) turnsLeft() string {
	switch {
	case t.Limits.Turns == 0:
		return ""
	case t.Env.Config.Continuous:
		return strconv.Itoa(t.Limits.Turns)
	}
	return strconv.Itoa(t.Limits.Turns - t.rec.now().used)
}

// tools returns the tools that need no permission, and those that are disabled. AskUserQuestion is disabled if the program
// may not ask a user.
func tools(vars variables, may string) (allowed, refused []string) {
	allowed, refused = list(cmp.Or(vars["ALLOWED_TOOLS"], DefaultTools)), list(vars["DISALLOWED_TOOLS"])
	if may == askNever {
		refused = append(refused, askTool)
	}
	for name, tool := range map[string]string{"ENABLE_SUBAGENTS": "Task", "ENABLE_SKILLS": "Skill"} {
		if strings.EqualFold(vars[name], "false") {
			refused = append(refused, tool)
		}
	}
	slices.Sort(refused)
	return slices.DeleteFunc(allowed, func(tool string) bool { return slices.Contains(refused, tool) }), slices.Compact(refused)
}

// list splits text at commas only, because a tool rule such as Bash(git log:*) may contain spaces.
func list(text string) (all []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}
