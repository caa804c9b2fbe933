export { describeInboxStore, type StoreUnderTest, type TestRunner } from './describe-inbox-store.ts'
