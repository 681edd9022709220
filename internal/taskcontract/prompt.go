package taskcontract

import "strings"

// Prompt returns the contract for an agent, which gets the test command elsewhere. Empty: nothing is known.
func (f InForce) Prompt() string {
	var parts []string
	if list := f.Accepted.sentences(); len(list) > 0 {
		parts = append(parts, "The task contract:\n"+bullets(list))
	}
	if list := f.Proposed.sentences(); len(list) > 0 {
		parts = append(parts, "A model proposed the following for the task contract, and no user has accepted it yet. Follow it unless the task says otherwise:\n"+bullets(list))
	}
	return strings.Join(parts, "\n\n")
}

func bullets(list []string) string { return "- " + strings.Join(list, "\n- ") }

// sentences returns what the contract says, without the test command.
func (c Contract) sentences() (list []string) {
	for _, part := range []struct {
		words string
		items []string
	}{
		{"Change only these paths: ", c.AllowedPaths},
		{"Do not change these paths: ", c.ForbiddenPaths},
		{"Do not run these commands: ", c.ForbiddenCommands},
	} {
		if len(part.items) > 0 {
			list = append(list, part.words+"`"+strings.Join(part.items, "`, `")+"`.")
		}
	}
	list = append(list, yes(c.TestsMayChange, "You may change tests.", "Do not change tests.")...)
	list = append(list, yes(c.ChangeWanted, "The task asks for changes of files.", "The task asks for no change of a file.")...)
	return append(list, c.Constraints...)
}

// yes returns the sentence of a known answer.
func yes(answer *bool, positive, negative string) []string {
	switch {
	case answer == nil:
		return nil
	case *answer:
		return []string{positive}
	}
	return []string{negative}
}
