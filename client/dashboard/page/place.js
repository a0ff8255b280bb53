// Where the dashboard looks: what commands in a shell need to look there too.
export const place = {flags: "", changing: true, version: 0, build: ""};
