package digest

import (
	"strings"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// classOfFailure returns the failure class that a sandbox reports, if sandboxes may report it. Legacy workers report
// none: their class follows from the error text.
func classOfFailure(data event.End) task.FailureClass {
	for _, named := range []string{data.FailureClass, data.Class} {
		switch class := task.FailureClass(named); class { //nolint:exhaustive // the rest are not a sandbox's to say
		case task.ClassInfrastructure, task.ClassProviderLimit, task.ClassResources, task.ClassStopped,
			task.ClassInvalidInput, task.ClassCredentials:
			return class
		}
	}
	if data.FailureClass == "" && data.Class == "" {
		return classOfText(string(data.Error))
	}
	return task.ClassAgentError
}

// reportedReason returns the reason that a sandbox reports, if sandboxes may report it. Programs without reason codes
// report an interrupt by their stop reason.
func reportedReason(data event.End) task.Reason {
	switch code := task.ReasonCode(data.ReasonCode); code { //nolint:exhaustive // the rest are not a sandbox's to say
	case task.ReasonSetupFailed, task.ReasonSetupTimeout, task.ReasonOutOfMemory, task.ReasonInterrupted:
		return task.Reason{Code: code}
	case task.ReasonNoCredential:
		if credential.CheckKind(data.Credential) == nil {
			return task.NoCredential(data.Credential)
		}
		return task.Reason{Code: code}
	}
	if data.StopReason == string(task.ReasonInterrupted) {
		return task.Reason{Code: task.ReasonInterrupted}
	}
	return task.Reason{}
}

// permanentTexts are the errors that OmoiOS never retried, in lower case.
//
//nolint:gochecknoglobals // a constant table
var permanentTexts = []struct {
	text  string
	class task.FailureClass
}{
	{"authentication failed", task.ClassCredentials},
	{"permission denied", task.ClassInvalidInput},
	{"access denied", task.ClassInvalidInput},
	{"syntax error", task.ClassInvalidInput},
}

// classOfText returns the failure class of a legacy worker's error text. It is the only place where such a text decides
// anything.
func classOfText(text string) task.FailureClass {
	text = strings.ToLower(text)
	for _, p := range permanentTexts {
		if strings.Contains(text, p.text) {
			return p.class
		}
	}
	return task.ClassAgentError
}
