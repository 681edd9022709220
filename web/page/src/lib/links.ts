/** A link is the current one only if the whole address is the same: many links of a page differ in one parameter. */
export const exactly = { exact: true, includeSearch: true, explicitUndefined: true };
