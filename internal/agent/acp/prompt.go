package acp

import (
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/claude"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
)

// words returns the text of a step. The first text of a session begins with what else a system prompt says, since the
// protocol has none, and with a summary of the session that this one replaces.
func (t *talk) words(text string, messages []inbox.Message) string {
	for _, m := range messages {
		text = strings.TrimSpace(text + "\n\n" + claude.Worded(m))
	}
	switch {
	case !t.fresh && text != "":
		return text
	case !t.fresh:
		return claude.FirstPrompt(t.Env, true)
	}
	parts := []string{claude.SystemPrompt(t.Env, t.Vars)}
	if summary := t.rec.summary(); summary != "" {
		parts = append(parts, "You have worked on this task before, in a session that cannot be continued. Look at what is there already, and go on from there. The last of what was said:\n\n"+summary)
	}
	parts = append(parts, claude.FirstPrompt(t.Env, false))
	if text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

// waiting returns the messages for the next turn: that of the step, and those that came since the last turn.
func (t *talk) waiting(step continuous.Step) []inbox.Message {
	all := t.Later
	t.Later = nil
	if step.FromMessage() {
		all = append([]inbox.Message{step.Of}, all...)
	}
	return all
}
