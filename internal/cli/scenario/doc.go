// Package scenario runs end-to-end scenarios on an installation. A scenario is a list of steps that uses real tasks of
// the scripted agent and only the API. [Checks] are the scenarios of omoi check and of the end-to-end tests; [Demo] is
// that of omoi demo. A check deletes what it created.
package scenario
