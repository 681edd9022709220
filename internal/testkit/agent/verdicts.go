package agent

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/omoi-dev/omoi/api/client"
)

// judge takes a verdict as the API does: the first one counts.
func (s *Server) judge(w http.ResponseWriter, r *http.Request) {
	var said client.Verdict
	if json.NewDecoder(r.Body).Decode(&said) != nil || said.Passed == nil || said.Feedback == nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	s.mu.Lock()
	s.verdicts = append(s.verdicts, said)
	s.mu.Unlock()
	answer(w, http.StatusOK, client.VerdictAccepted{
		Status: "accepted", TaskID: said.TaskID, ValidationPassed: *said.Passed,
	})
}

// Verdicts are all that were given, in their order.
func (s *Server) Verdicts() []client.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.verdicts)
}
