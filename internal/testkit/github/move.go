package github

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// moveRef moves a ref, forward only unless it is forced; the hook that guards pushes guards this too.
func (s *Server) moveRef(w http.ResponseWriter, r *http.Request, on *repo) {
	name := "refs/" + r.PathValue("ref")
	var in struct {
		SHA   string `json:"sha"`
		Force bool   `json:"force"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	from := on.resolve(name)
	_, older := gitIn(on.dir, nil, "merge-base", "--is-ancestor", from, in.SHA)
	switch {
	case from == "":
		refuse(w, http.StatusUnprocessableEntity, "Reference does not exist")
	case on.resolve(in.SHA) == "":
		refuse(w, http.StatusUnprocessableEntity, "Object does not exist")
	case on.guards(name):
		refuse(w, http.StatusUnprocessableEntity,
			"Repository rule violations found\n\nChanges must be made through a pull request.")
	case older != nil && !in.Force:
		refuse(w, http.StatusUnprocessableEntity, "Update is not a fast forward")
	default:
		if _, err := gitIn(on.dir, nil, "update-ref", name, in.SHA, from); err != nil {
			refuse(w, http.StatusConflict, err.Error())
			return
		}
		reply(w, http.StatusOK, s.refOf(on, ref{name, in.SHA}))
	}
}

// guards reports whether a rule protects a ref.
func (r *repo) guards(name string) bool {
	hook, err := os.ReadFile(filepath.Join(r.dir, "hooks", "update"))
	return err == nil && strings.Contains(string(hook), "'"+name+"'")
}
