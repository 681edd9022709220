package openhands

import "cmp"

// Address returns the address and the key of the server that variables name, by the names that OpenHands and OmoiOS use; empty: they name
// none, so omoi starts a server itself.
func Address(vars map[string]string) (address, key string) {
	if mode := vars["WORKSPACE_MODE"]; mode != "" && mode != "remote" {
		return "", ""
	}
	key = cmp.Or(vars["WORKSPACE_REMOTE_API_KEY"], vars["AGENT_SERVER_API_KEY"])
	switch {
	case vars["WORKSPACE_REMOTE_HOST"] != "":
		return vars["WORKSPACE_REMOTE_HOST"], key
	case vars["AGENT_SERVER_HOST"] != "":
		return "http://" + vars["AGENT_SERVER_HOST"] + ":" + cmp.Or(vars["AGENT_SERVER_PORT"], "8000"), key
	}
	return "", ""
}
