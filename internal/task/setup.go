package task

import "strings"

// NoCredentials is in the reason of an agent that was given no credential at all.
const NoCredentials = "has no credentials in this sandbox" //nolint:gosec // G101: a sentence

// SetupStep begins what an agent's program says of a setup step that failed.
const SetupStep = "The setup step"

// SetupFailed reports whether an attempt failed in its setup step, other than for lack of memory or disk.
func SetupFailed(class FailureClass, reason string) bool {
	return (class == ClassInfrastructure || class == ClassInvalidInput) && strings.HasPrefix(reason, SetupStep)
}
