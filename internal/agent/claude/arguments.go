package claude

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Tools that the agent may use where a task says nothing else.
const (
	DefaultTools = "Read,Write,Edit,Bash,Glob,Grep,Task,Skill"
	defaultMode  = "acceptEdits"
)

// arguments returns the program's command line. It contains neither secrets nor texts of the task, which are sent by
// standard input.
func (t *talk) arguments() []string {
	env, vars, place := t.Env, t.Vars, t.place
	args := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages",
		"--permission-mode", cmp.Or(vars["PERMISSION_MODE"], defaultMode),
		"--append-system-prompt", systemPrompt(env, vars),
	}
	if place.Begun {
		args = append(args, "--resume", place.SessionID)
	} else {
		args = append(args, "--session-id", place.SessionID)
	}
	for _, flag := range [][2]string{
		{"--model", cmp.Or(vars["MODEL"], vars["ANTHROPIC_MODEL"])},
		{"--max-turns", t.turnsLeft()},
		{"--max-budget-usd", strconv.FormatFloat(t.Limits.Cost-t.rec.now().cost, 'f', 4, 64)}, // left of the attempt's
	} {
		if flag[1] != "" {
			args = append(args, flag[0], flag[1])
		}
	}
	allowed, refused := tools(vars)
	return append(args, "--disallowedTools", strings.Join(refused, ","), "--allowedTools", strings.Join(allowed, ","))
}

// turnsLeft returns how many turns the program may take for its next input: in continuous mode those of an iteration,
// otherwise the rest of the attempt's.
func (t *talk) turnsLeft() string {
	switch {
	case t.Limits.Turns == 0:
		return ""
	case t.Env.Config.Continuous:
		return strconv.Itoa(t.Limits.Turns)
	}
	return strconv.Itoa(t.Limits.Turns - t.rec.now().used)
}

// tools are those that may be used without a question, and those that are not offered. There
// is nobody who could answer a question.
func tools(vars variables) (allowed, refused []string) {
	allowed, refused = list(cmp.Or(vars["ALLOWED_TOOLS"], DefaultTools)), append(list(vars["DISALLOWED_TOOLS"]), "AskUserQuestion")
	for name, tool := range map[string]string{"ENABLE_SUBAGENTS": "Task", "ENABLE_SKILLS": "Skill"} {
		if strings.EqualFold(vars[name], "false") {
			refused = append(refused, tool)
		}
	}
	slices.Sort(refused)
	return slices.DeleteFunc(allowed, func(tool string) bool { return slices.Contains(refused, tool) }), slices.Compact(refused)
}

// list splits at commas only: a rule for a tool may hold spaces, as Bash(git log:*) does.
func list(text string) (all []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}
