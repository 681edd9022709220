package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/hook"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// mostTold is the number of refusals of an attempt of which the agent gets the reason as a message. Each may begin a turn.
const mostTold = 10

// permit answers a request for a permission. The sandbox is the isolation, so a call may run unless the task contract
// forbids it. While the turn is stopped, nothing is permitted.
func (r *recorder) permit(f *jsonrpc.Frame) any {
	p := jsonrpc.Into[permission](f.Params)
	option := p.option("allow_once", "allow_always")
	if call := r.requested(jsonrpc.Into[update](p.Call)); r.refuses != nil && r.refuses(call) {
		option = p.option("reject_once", "reject_always")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if option == "" || r.stopping {
		return outcome("cancelled", "")
	}
	return outcome("selected", option)
}

// requested reports the call for which the agent asks, and returns it in the form of the hook.
func (r *recorder) requested(u update) hook.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &call{}
	if u.ID != "" && !r.loading {
		u.Status = ""
		r.tool(u)
		c = r.calls[u.ID]
		r.use(u.ID, c)
	} else {
		c.fold(u)
	}
	return c.checked(u, r.env.Config.Workspace)
}

// checked returns a call in the form of the hook. Without an input, the title of a command is the command.
func (c *call) checked(u update, dir string) hook.Call {
	h := hook.Call{Tool: c.tool(), ID: u.ID, Dir: dir}
	_ = json.Unmarshal(c.input, &h.Input) // fields of unexpected types stay empty
	switch c.kind {
	case "execute":
		h.Input.Command = cmp.Or(h.Input.Command, hook.Line(c.title))
	case "edit", "delete", "move":
		h.Input.Command, h.Files = "", u.files()
	}
	return h
}

// files returns the files that a call changes.
func (u update) files() (all []string) {
	for _, at := range append(jsonrpc.Into[[]at](u.Content), u.Locations...) {
		if at.Path != "" && !slices.Contains(all, at.Path) {
			all = append(all, at.Path)
		}
	}
	return all
}

// refuses reports whether the contract forbids a call. The protocol has no place for the reason, so the agent gets it as a
// message after the turn, which most agents end then: Qwen Code asks for messages first, and does not pass them to the model.
func (t *talk) refuses(c hook.Call) bool {
	reason := hook.Refuses(t.Env.Config.Dir, c)
	if reason == "" {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told++; t.told <= mostTold {
		t.reasons = append(t.reasons, inbox.Message{SenderKind: "system", Content: fmt.Sprintf("Your call of %s did not run: %s\n\n%s",
			c.Tool, cmp.Or(string(c.Input.Command), strings.Join(c.Files, ", ")), reason)})
	}
	return true
}

func outcome(kind, option string) any {
	o := map[string]any{"outcome": kind}
	if option != "" {
		o["optionId"] = option
	}
	return map[string]any{"outcome": o}
}
