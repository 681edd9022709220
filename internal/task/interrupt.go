package task

// WasInterrupted begins the reason of an agent that was interrupted and that nobody spoke to again.
const WasInterrupted = "The agent was interrupted"

// FromPerson is the kind of sender that a person is.
const FromPerson = "person"
